import Foundation

// Times cross in whole milliseconds.

/// A duration in milliseconds; a negative one is zero.
func wholeMilliseconds(_ time: Duration) -> UInt64 {
    let (seconds, attoseconds) = time.components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (whole, isTooMuch) = UInt64(seconds).multipliedReportingOverflow(by: 1000)
    return isTooMuch ? .max : whole + UInt64(attoseconds / 1_000_000_000_000_000)
}

/// A point in time in milliseconds since the epoch; an earlier one is the epoch.
func wholeMilliseconds(_ time: Date) -> UInt64 {
    let milliseconds = (time.timeIntervalSince1970 * 1000).rounded()
    return milliseconds > 0 ? UInt64(exactly: milliseconds) ?? .max : 0
}
