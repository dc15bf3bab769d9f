//! pipeline.
