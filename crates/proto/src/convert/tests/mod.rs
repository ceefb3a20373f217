//! What is written is read again as it was; what may not be sent is refused by code and field.

mod refusals;
mod round_trips;

use prost::Message;
use punctual_broker_api::Time;

fn time(ms: u64) -> Time {
    Time::from_unix_ms(ms).expect("a time")
}

/// Through the bytes, as a peer would see it.
fn wired<T: Message + Default>(message: &T) -> T {
    T::decode(message.encode_to_vec().as_slice()).expect("decodes")
}
