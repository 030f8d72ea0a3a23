//! Where the fields of a text end.

/// The bytes of a block.
const BLOCK: usize = 64;
const _: () = assert!(BLOCK <= super::lines::PADDING);

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The places of every `|` and every line's end in `text[start..end]`, in order, behind those that
/// `marks` has. A block's worth of bytes follows `end`.
///
/// Found block by block, and not field by field, they do not depend on each other, so that a
/// processor reads many lines at the same time.
pub(super) fn find(text: &[u8], start: usize, end: usize, marks: &mut Vec<u32>) {
    for at in (start..end).step_by(BLOCK) {
        let bytes = text[at..].first_chunk().expect("a block follows the end");
        let mut bits = block(bytes);
        if end - at < BLOCK {
            bits &= (1 << (end - at)) - 1;
        }
        // Of a known number at a time, and some in vain, so that no branch depends on the text.
        let before = marks.len();
        let count = bits.count_ones() as usize;
        while bits != 0 {
            marks.extend::<[u32; STEP]>(std::array::from_fn(|_| {
                let mark = at as u32 + bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                mark
            }));
        }
        marks.truncate(before + count);
    }
}

/// How many marks are written at a time.
const STEP: usize = 8;

/// For each byte of the block a bit: whether it ends a field.
#[cfg(target_arch = "x86_64")]
#[inline]
fn block(bytes: &[u8; BLOCK]) -> u64 {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    let mut bits = 0;
    for (index, quarter) in bytes.chunks_exact(16).enumerate() {
        // SAFETY: every x86_64 has the instructions, and the load is of the 16 bytes of `quarter`,
        // wherever they lie.
        let ends = unsafe {
            let bytes = _mm_loadu_si128(quarter.as_ptr().cast());
            let fields = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'|' as i8));
            let lines = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\n' as i8));
            _mm_movemask_epi8(_mm_or_si128(fields, lines))
        };
        bits |= u64::from(ends as u16) << (16 * index);
    }
    bits
}

#[cfg(not(target_arch = "x86_64"))]
use block_by_words as block;

/// The same, for any processor.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn block_by_words(bytes: &[u8; BLOCK]) -> u64 {
    let mut bits = 0;
    for (index, bytes) in bytes.chunks_exact(8).enumerate() {
        let word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let ends = zeros(word ^ (ONES * b'|' as u64)) | zeros(word ^ (ONES * b'\n' as u64));
        // The product's highest byte gathers the bits.
        bits |= ((ends >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index);
    }
    bits
}

/// For each byte of the word its highest bit: whether it is zero.
#[cfg(any(test, not(target_arch = "x86_64")))]
#[inline]
fn zeros(word: u64) -> u64 {
    !(((word & !HIGH) + !HIGH) | word | !HIGH)
}

/// The word's bytes up to the first that is this one, and zeros behind them; the word where there is
/// none.
#[inline(always)]
pub(super) fn through_first(word: u64, byte: u8) -> u64 {
    let others = word ^ (ONES * u64::from(byte));
    // What is above the first zero may be wrong, and is not looked at.
    let zeros = others.wrapping_sub(ONES) & !others & HIGH;
    word & (zeros ^ zeros.wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_behind_a_byte_is_cut_off() {
        for (word, expected) in [
            (b"r(V12)|7", b"r(\0\0\0\0\0\0"),
            (b"(((()'((", b"(\0\0\0\0\0\0\0"),
            (b")'\xa8\0\xff)(.", b")'\xa8\0\xff)(\0"),
            (b"release(", b"release("),
            (b"no such.", b"no such."),
        ] {
            let (word, expected) = (u64::from_le_bytes(*word), u64::from_le_bytes(*expected));
            assert_eq!(through_first(word, b'('), expected);
        }
    }

    #[test]
    fn marks_are_where_the_bytes_are() {
        let mut state = 1u32;
        let mut text: Vec<u8> = Vec::new();
        for _ in 0..5_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.push(match state >> 28 {
                0..3 => b'|',
                3..5 => b'\n',
                5 => b'|' + 1,
                6 => b'\n' ^ 0x80,
                7 => b'|' ^ 0x80,
                8 => 0,
                _ => (state >> 8) as u8,
            });
        }
        for (start, end) in [
            (0, 0),
            (0, 64),
            (3, 3),
            (3, 4),
            (7, 200),
            (0, 4_936),
            (63, 129),
        ] {
            let expected: Vec<u32> = (start..end)
                .filter(|&at| matches!(text[at], b'|' | b'\n'))
                .map(|at| at as u32)
                .collect();
            let mut marks = Vec::new();
            find(&text, start, end, &mut marks);
            assert_eq!(marks, expected, "{start}..{end}");
        }
        for bytes in text.windows(BLOCK) {
            let bytes = bytes.first_chunk().expect("a block");
            assert_eq!(block(bytes), block_by_words(bytes));
        }
    }
}
