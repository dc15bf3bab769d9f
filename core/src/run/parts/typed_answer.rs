use crate::CallKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of a turn's typed answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypedAnswer {
    /// The number of answers that did not fit.
    refused: u32,
    /// The model is asked again after this hop.
    is_asked_again: bool,
    /// The last call of the final tool that was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<CallKey>,
    /// The hop's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// The host is asked whether the answer is valid.
    is_with_host: bool,
}

impl TypedAnswer {
    pub(crate) fn is_untouched(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets the answer of the hop before.
    pub(crate) fn begin_hop(&mut self) {
        *self = Self {
            refused: self.refused,
            ..Self::default()
        };
    }

    /// Notes that the host must decode the answer, and the call of the final tool that it came by, if any.
    pub(crate) fn wait_for_host(&mut self, value: Value, call: Option<CallKey>) {
        self.value = Some(value);
        self.call = call;
        self.is_with_host = true;
    }

    /// Takes the value that the host was asked to decode.
    pub(crate) fn decoded(&mut self) -> Option<(Value, Option<CallKey>)> {
        self.is_with_host = false;
        self.value.take().map(|value| (value, self.call))
    }

    pub(crate) fn to_decode(&self) -> Option<&Value> {
        self.value.as_ref().filter(|_| self.is_with_host)
    }

    /// The call of the final tool that was looked at last, if there was one.
    pub(crate) fn call(&self) -> Option<CallKey> {
        self.call
    }

    pub(crate) fn take(&mut self, value: Value) {
        self.value = Some(value);
    }

    /// The answer that counts.
    pub(crate) fn taken(&self) -> Option<&Value> {
        self.value.as_ref().filter(|_| !self.is_with_host)
    }

    /// The answer does not fit. How often the model may be asked again after this time; nothing if it may not be now.
    pub(crate) fn refuse(&mut self, call: Option<CallKey>, most: u32) -> Option<u32> {
        self.call = call;
        let left = most.checked_sub(self.refused)?.checked_sub(1)?;
        self.refused += 1;
        self.is_asked_again = true;
        Some(left)
    }

    /// Asks for the answer again, from another model, which has all attempts.
    pub(crate) fn begin_with_another_model(&mut self) {
        self.refused = 0;
        self.is_asked_again = true;
    }

    pub(crate) fn is_asked_again(&self) -> bool {
        self.is_asked_again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn it_is_asked_for_again_so_often_and_no_more() {
        let mut typed = TypedAnswer::default();
        assert!(typed.is_untouched());
        assert_eq!(typed.refuse(None, 2), Some(1));
        assert!(typed.is_asked_again());
        typed.begin_hop();
        assert!(!typed.is_asked_again() && !typed.is_untouched());
        assert_eq!(typed.refuse(None, 2), Some(0));
        assert_eq!(typed.refuse(None, 2), None);
        assert_eq!(TypedAnswer::default().refuse(None, 0), None);
    }

    #[test]
    fn what_the_host_has_in_its_hands_is_no_answer_yet() {
        let mut typed = TypedAnswer::default();
        typed.wait_for_host(json!(1), None);
        assert_eq!((typed.to_decode(), typed.taken()), (Some(&json!(1)), None));
        let (value, _) = typed.decoded().unwrap();
        typed.take(value);
        assert_eq!((typed.to_decode(), typed.taken()), (None, Some(&json!(1))));
    }
}
