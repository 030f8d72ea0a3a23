//! Addresses of statics as 32-bit codes.
//!
//! A record has four bytes for a source location, a block or a type's name. All of these are
//! statics or functions of the program, and a program's image is smaller than 4 GiB, so the
//! distance from a static of our own says it all. What lies farther away (another shared object)
//! gets a number in a table instead.

use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::mark::Block;

static BASE: u64 = 0;

/// The addresses that are too far from [`BASE`], 0 where there is none yet; a code with [`FAR`] set
/// is an index. A hash table that is never full in practice, so that there is neither a lock nor an
/// allocation: the program's allocator may be asking.
static FAR_AWAY: [AtomicUsize; 1 << 16] = [const { AtomicUsize::new(0) }; 1 << 16];
const FAR: u32 = 1 << 31;

/// Turns the address of a static that is aligned to eight bytes into a code; 0 is no address's
/// code.
#[inline]
fn encode_aligned(address: usize) -> u32 {
    encode_near(address).unwrap_or_else(|| far(address))
}

/// The code of an address that is near enough to [`BASE`] to need no entry in the table.
#[inline(always)]
fn encode_near(address: usize) -> Option<u32> {
    let offset = address
        .wrapping_sub(&raw const BASE as usize)
        .wrapping_add(1 << 31);
    // No static is exactly 2 GiB away, so 0 stays free.
    if offset >> 32 == 0 {
        Some((offset >> 3) as u32)
    } else {
        None
    }
}

#[cold]
extern "C" fn far(address: usize) -> u32 {
    let hash = address.wrapping_mul(0x9e37_79b9) >> 8;
    for step in 0..FAR_AWAY.len() {
        let index = hash.wrapping_add(step) % FAR_AWAY.len();
        let found =
            FAR_AWAY[index].compare_exchange(0, address, Ordering::Relaxed, Ordering::Relaxed);
        if found.is_ok() || found == Err(address) {
            return FAR | index as u32;
        }
    }
    // 65,536 places outside of the program's image.
    std::process::abort();
}

/// The address behind a code that has [`FAR`] set.
fn far_address(code: u32) -> usize {
    FAR_AWAY[(code & !FAR) as usize].load(Ordering::Relaxed)
}

fn decode_aligned(code: u32) -> usize {
    if code & FAR != 0 {
        far_address(code)
    } else {
        (&raw const BASE as usize)
            .wrapping_add((code as usize) << 3)
            .wrapping_sub(1 << 31)
    }
}

const _: () = assert!(align_of::<Location<'static>>() >= 8 && align_of::<Block>() >= 8);

/// The code of a source location.
#[inline]
pub(crate) fn site(location: &'static Location<'static>) -> u32 {
    encode_aligned(location as *const Location<'static> as usize)
}

/// The code of a source location that is near enough to need no entry in the table.
#[inline(always)]
pub(crate) fn near(location: &'static Location<'static>) -> Option<u32> {
    encode_near(location as *const Location<'static> as usize)
}

/// The distance of a location's code from another one's, or something far from 0 where one of them
/// has a number in the table.
#[inline(always)]
pub(crate) fn distance(from: u32, to: &'static Location<'static>) -> i64 {
    let offset = (to as *const Location<'static> as usize)
        .wrapping_sub(&raw const BASE as usize)
        .wrapping_add(1 << 31);
    (offset >> 3) as i64 - i64::from(from)
}

/// The location behind a code; nothing for 0.
pub(crate) fn location(code: u32) -> Option<&'static Location<'static>> {
    // SAFETY: nonzero site codes are made by `site` alone, from a `&'static Location`, and both
    // codings are injective.
    (code != 0).then(|| unsafe { &*(decode_aligned(code) as *const Location<'static>) })
}

/// The code of an atomic block.
#[inline]
pub(crate) fn block(block: &'static Block) -> u32 {
    encode_aligned(block as *const Block as usize)
}

/// The block behind a code made by [`block`].
pub(crate) fn block_of(code: u32) -> &'static Block {
    // SAFETY: block codes are made by `block` alone, from a `&'static Block`, and both codings are
    // injective.
    unsafe { &*(decode_aligned(code) as *const Block) }
}

/// A function that names a type, such as `std::any::type_name::<T>`.
pub(crate) type TypeName = fn() -> &'static str;

/// The code of a function that names a type; 0 is no function's.
pub(crate) fn type_name(name: TypeName) -> u32 {
    let offset = (name as usize)
        .wrapping_sub(&raw const BASE as usize)
        .wrapping_add(1 << 30);
    // No function is exactly 1 GiB away, so 0 stays free.
    if offset < 1 << 31 {
        offset as u32
    } else {
        far(name as usize)
    }
}

/// The type's name behind a code made by [`type_name`].
pub(crate) fn type_name_of(code: u32) -> &'static str {
    let address = if code & FAR != 0 {
        far_address(code)
    } else {
        (&raw const BASE as usize)
            .wrapping_add(code as usize)
            .wrapping_sub(1 << 30)
    };
    // SAFETY: type name codes are made by `type_name` alone, from a `TypeName`, and both codings
    // are injective.
    let name = unsafe { std::mem::transmute::<usize, TypeName>(address) };
    name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_leads_back_to_its_location() {
        let here = Location::caller();
        assert_eq!(location(site(here)), Some(here));
        assert_eq!(location(0), None);
    }

    /// Small allocations may be near the image; large ones are mapped elsewhere.
    fn far_from_the_image() -> &'static Location<'static> {
        &vec![*Location::caller(); 1 << 16].leak()[0]
    }

    #[test]
    fn an_address_outside_the_image_gets_a_number_of_its_own() {
        let far_away = far_from_the_image();
        let code = site(far_away);
        assert_eq!(site(far_away), code);
        assert_eq!(location(code), Some(far_away));
    }

    #[test]
    fn a_distance_leads_from_one_code_to_the_other() {
        let (here, there) = (Location::caller(), Location::caller());
        let further = distance(site(here), there) as i32;
        assert_eq!(site(here).wrapping_add_signed(further), site(there));
        assert_eq!(distance(site(here), here), 0);

        let far_away = far_from_the_image();
        let table = site(far_away);
        assert!(distance(table, here).unsigned_abs() > 1 << 24);
        assert!(distance(site(here), far_away).unsigned_abs() > 1 << 24);
    }

    #[test]
    fn a_type_name_survives_the_code() {
        assert_eq!(
            type_name_of(type_name(std::any::type_name::<Vec<u8>>)),
            "alloc::vec::Vec<u8>"
        );
    }
}
