//! Prediction by the papers: their examples, their algorithms to the letter, and the shapes of
//! traces that the analyses are about.

mod blocks;
mod examples;
mod judge;
mod locks;
mod minimal;
mod notation;
mod order;
mod programs;
mod published;
mod reduction;
mod theorems;
