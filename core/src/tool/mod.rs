//! tool.
