//! Reports as SARIF 2.1.0, for code hosts that annotate pull requests.
