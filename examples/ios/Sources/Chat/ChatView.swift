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
            if let question = chat.questions.first {
                QuestionView(question: question) { chat.answer(question, $0) }.id(question.id)
                Divider()
            }
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

/// One question after the other.
private struct QuestionView: View {
    let question: Question
    let answer: (Answer) -> Void
    @State private var text = ""

    var body: some View {
        VStack(alignment: .leading) {
            Text(question.text).font(.callout)
            if !question.isApproval {
                TextField("Answer", text: $text).textFieldStyle(.roundedBorder)
            }
            HStack {
                if question.isApproval {
                    Button("Deny", role: .cancel) { answer(.denied()) }
                    Button("Allow") { answer(.approved) }
                } else {
                    Button("Dismiss", role: .cancel) { answer(.dismissed) }
                    Button("Answer") { answer(.said(text)) }
                }
            }
            .buttonStyle(.bordered)
        }
        .frame(maxWidth: .infinity, alignment: .leading)
        .padding()
    }
}

private struct LineView: View {
    let line: Line

    var body: some View {
        switch line.who {
        case .user:
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
