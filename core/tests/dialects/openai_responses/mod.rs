//! The Responses dialect, through its public API: items and events, cutting, snapshots, requests.

mod calls;
mod done;
mod ends;
mod messages;
mod odd_items;
mod reasoning;
mod request;
mod round_trip;
