//! Messages to bytes and back. Like tonic's own codec, but that bytes which are no message are the
//! sender's fault and not ours.

use std::marker::PhantomData;

use prost::Message;
use punctual_broker_api::{Code, Error};
use tonic::{
    Status,
    codec::{DecodeBuf, Decoder},
};
use tonic_prost::{ProstCodec, ProstEncoder};

use crate::status::to_status;

/// Encodes `T` and decodes `U`.
#[derive(Debug)]
pub struct Codec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Codec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> tonic::codec::Codec for Codec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = MessageDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::default().encoder()
    }

    fn decoder(&mut self) -> Self::Decoder {
        MessageDecoder(PhantomData)
    }
}

/// Decodes `U`.
#[derive(Debug)]
pub struct MessageDecoder<U>(PhantomData<U>);

impl<U: Message + Default> Decoder for MessageDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        U::decode(buffer).map(Some).map_err(|error| {
            to_status(&Error::new(Code::MalformedRequest, format!("cannot read the message: {error}")).with_hint(
                "send what the files in proto/punctual/v1 describe; text fields hold UTF-8, bodies hold any bytes",
            ))
        })
    }
}
