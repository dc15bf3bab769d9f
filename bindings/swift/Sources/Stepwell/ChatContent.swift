import Foundation
import StepwellBindings

// What the user says in a chat, in AG-UI's form: the turn and the screen have the same message.

/// The content of a message: a text, or the text with the parts that follow it.
func contentOf(_ prompt: String, _ parts: [ContentPart]) -> JsonValue {
    let text = quoted(prompt)
    if parts.isEmpty { return JsonValue(text: text) }
    let first = prompt.isEmpty ? [] : [#"{"type":"text","text":\#(text)}"#]
    return JsonValue(text: "[\((first + parts.map(\.json.text)).joined(separator: ","))]")
}

/// The content of a message that was sent.
func contentOf(message: Message) -> JsonValue? {
    let fields = try? JSONSerialization.jsonObject(with: Data(message.json.text.utf8)) as? [String: Any]
    guard let content = fields?["content"],
        let data = try? JSONSerialization.data(withJSONObject: content, options: .fragmentsAllowed)
    else { return nil }
    return JsonValue(text: String(decoding: data, as: UTF8.self))
}

/// A message of the user with this content.
func messageOf(_ id: String, _ content: JsonValue) -> JsonValue {
    JsonValue(text: #"{"id":\#(quoted(id)),"role":"user","content":\#(content.text)}"#)
}
