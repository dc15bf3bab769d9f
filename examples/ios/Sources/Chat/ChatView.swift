import ChatTurn
import SwiftUI

struct ChatView: View {
    let chat: Chat
    @State private var text = ""

    var body: some View {
        VStack(spacing: 0) {
            ScrollViewReader { reader in
                ScrollView {
                    LazyVStack(alignment: .leading, spacing: 12) {
                        ForEach(chat.lines) { line in
                            LineView(line: line).id(line.id)
                        }
                    }
                    .padding()
                }
                .onChange(of: chat.lines) { _, lines in
                    if let last = lines.last { reader.scrollTo(last.id, anchor: .bottom) }
                }
            }
            Divider()
            HStack {
                TextField("Message", text: $text, axis: .vertical)
                    .textFieldStyle(.roundedBorder)
                    .onSubmit(send)
                if chat.isRunning {
                    Button("Stop", systemImage: "stop.circle.fill", action: chat.cancel)
                } else {
                    Button("Send", systemImage: "arrow.up.circle.fill", action: send)
                        .disabled(text.isEmpty)
                }
            }
            .labelStyle(.iconOnly)
            .font(.title2)
            .padding()
        }
    }

    private func send() {
        guard !text.isEmpty, !chat.isRunning else { return }
        chat.send(text)
        text = ""
    }
}

private struct LineView: View {
    let line: Line

    var body: some View {
        switch line.who {
        case .person:
            Text(line.text)
                .padding(10)
                .background(.tint.opacity(0.2), in: .rect(cornerRadius: 12))
                .frame(maxWidth: .infinity, alignment: .trailing)
        case .model:
            Text(line.text).textSelection(.enabled)
        case .tool:
            Label(line.text, systemImage: "wrench.and.screwdriver").foregroundStyle(.secondary)
        case .notice:
            Label(line.text, systemImage: "exclamationmark.triangle").foregroundStyle(.orange)
        }
    }
}
