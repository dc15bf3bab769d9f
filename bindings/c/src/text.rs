use std::ptr;
use stepwell_json::Refused;

/// Text that the library returns: `length` bytes of UTF-8 at `data`, without a NUL at their end.
#[repr(C)]
#[derive(Debug)]
pub struct StepwellText {
    /// The bytes.
    pub data: *mut u8,
    /// The number of bytes.
    pub length: usize,
}

impl From<String> for StepwellText {
    fn from(text: String) -> Self {
        let bytes = Box::leak(text.into_bytes().into_boxed_slice());
        Self {
            data: bytes.as_mut_ptr(),
            length: bytes.len(),
        }
    }
}

impl StepwellText {
    /// # Safety
    /// The text was created here and is not used any more.
    pub(crate) unsafe fn free(self) {
        if !self.data.is_null() {
            let bytes = ptr::slice_from_raw_parts_mut(self.data, self.length);
            // SAFETY: a boxed slice of this length was leaked to make it.
            drop(unsafe { Box::from_raw(bytes) });
        }
    }
}

/// Returns the caller's bytes; none for a null.
///
/// # Safety
/// `data` points to `length` bytes, which do not change for `'a`, or is null.
pub(crate) unsafe fn bytes<'a>(data: *const u8, length: usize) -> &'a [u8] {
    if data.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, length) }
}

/// Returns the caller's text.
///
/// # Safety
/// As for [`bytes`].
pub(crate) unsafe fn text<'a>(
    what: &str,
    data: *const u8,
    length: usize,
) -> Result<&'a str, Refused> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes(data, length) };
    std::str::from_utf8(bytes).map_err(|error| Refused::argument(what, error))
}

/// Formats the result of a refused call.
pub(crate) fn refused(why: &Refused) -> StepwellText {
    StepwellText::from(why.to_json())
}
