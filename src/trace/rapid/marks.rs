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
        let mut bits = block(&text[at..at + BLOCK]);
        if end - at < BLOCK {
            bits &= (1 << (end - at)) - 1;
        }
        while bits != 0 {
            marks.push(at as u32 + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
}

/// For each byte of the block a bit: whether it ends a field.
#[inline]
fn block(bytes: &[u8]) -> u64 {
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
#[inline]
fn zeros(word: u64) -> u64 {
    !(((word & !HIGH) + !HIGH) | word | !HIGH)
}

/// Where the byte first stands in the word.
#[inline]
pub(super) fn first(word: u64, byte: u8) -> Option<usize> {
    let places = zeros(word ^ (ONES * u64::from(byte)));
    (places != 0).then_some((places.trailing_zeros() / 8) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
