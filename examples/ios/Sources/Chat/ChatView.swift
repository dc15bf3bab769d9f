import ChatScreen
import Stepwell
import SwiftUI

struct ChatView: View {
    @Bindable var screen: ChatScreen

    var body: some View {
        VStack(spacing: 0) {
            if let chat = screen.chat {
                MessageList(messages: chat.state.messages)
                if let problem = chat.state.problem {
                    Label(problem.message, systemImage: "exclamationmark.triangle").foregroundStyle(.orange)
                    Button("Try again") { screen.begin { try await $0.retry() } }
                }
                ForEach(chat.state.pending) { PendingView(screen: screen, pending: $0) }
                ForEach(chat.state.interrupts.filter { chat.answers[$0.id] == nil }) { interrupt in
                    AskView(question: interrupt.message ?? "The agent asks you.") { answer in
                        screen.begin { try await $0.answer(interrupt.id, answer) }
                    } dismiss: {
                        screen.begin { try await $0.deny(interrupt.id) }
                    }
                }
                Composer(screen: screen, chat: chat)
            } else {
                ProgressView()
            }
        }
        .alert(
            screen.trouble ?? "",
            isPresented: Binding(get: { screen.trouble != nil }, set: { if !$0 { screen.trouble = nil } })
        ) {}
    }
}

private struct MessageList: View {
    let messages: [ChatMessage]

    var body: some View {
        ScrollView {
            LazyVStack(alignment: .leading, spacing: 12) {
                ForEach(messages) { MessageView(message: $0) }
            }
            .padding()
        }
        .defaultScrollAnchor(.bottom)
    }
}

private struct MessageView: View {
    let message: ChatMessage

    var body: some View {
        ForEach(Array(message.parts.enumerated()), id: \.offset) { _, part in
            switch part {
            case .text(let it) where message.role == .user:
                Text(it.text)
                    .padding(10)
                    .background(.tint.opacity(0.2), in: .rect(cornerRadius: 12))
                    .frame(maxWidth: .infinity, alignment: .trailing)
            case .text(let it): Text(it.text).textSelection(.enabled)
            case .reasoning(let it): Text(it.text).font(.callout).foregroundStyle(.secondary)
            case .tool(let it): ToolView(card: it.card)
            case .media, .activity: Image(systemName: "photo")
            }
        }
    }
}

private struct ToolView: View {
    let card: ToolCard

    var body: some View {
        VStack(alignment: .leading) {
            Label(card.label, systemImage: "wrench.and.screwdriver")
            if let progress = card.progress {
                ProgressView(progress.message ?? "", value: progress.fraction)
            }
            if let said = card.result ?? card.failure ?? card.partialResult { Text(said).font(.callout) }
        }
        .foregroundStyle(.secondary)
    }
}

private struct PendingView: View {
    let screen: ChatScreen
    let pending: Pending

    var body: some View {
        switch pending.kind {
        case .approval:
            HStack {
                Text("Allow \(pending.label ?? pending.tool)?").font(.callout)
                Spacer()
                Button("Deny", role: .cancel) { screen.begin { try await $0.deny(pending.id) } }
                Button("Allow") { screen.begin { try await $0.approve(pending.id) } }
            }
            .buttonStyle(.bordered)
            .padding()
        case .question:
            AskView(question: pending.message ?? pending.tool) { answer in
                screen.begin { try await $0.answer(pending.id, answer) }
            } dismiss: {
                screen.begin { try await $0.deny(pending.id) }
            }
        case .result:
            Label("\(pending.tool) is under way", systemImage: "hourglass")
        }
    }
}

private struct AskView: View {
    let question: String
    let answer: (JsonValue) -> Void
    let dismiss: () -> Void
    @State private var text = ""

    var body: some View {
        VStack(alignment: .leading) {
            Text(question).font(.callout)
            TextField("Answer", text: $text).textFieldStyle(.roundedBorder)
            HStack {
                Button("Dismiss", role: .cancel, action: dismiss)
                // Words, or JSON where the question has a schema.
                Button("Answer") { answer((try? JsonValue(parsing: text)) ?? JsonValue(stringLiteral: text)) }
            }
            .buttonStyle(.bordered)
        }
        .padding()
    }
}

private struct Composer: View {
    let screen: ChatScreen
    let chat: ChatSession
    @State private var text = ""

    var body: some View {
        HStack {
            TextField("Message", text: $text, axis: .vertical).textFieldStyle(.roundedBorder).onSubmit(send)
            if chat.isBusy { Button("Stop", systemImage: "stop.circle.fill", action: chat.cancel) }
            Button("Send", systemImage: "arrow.up.circle.fill", action: send).disabled(text.isEmpty)
        }
        .labelStyle(.iconOnly)
        .font(.title2)
        .padding()
    }

    /// Sends a message, or adds it to the turn under way.
    private func send() {
        let said = text
        text = ""
        screen.begin { chat in
            if chat.isBusy { try await chat.steer(said) } else { try await chat.send(said) }
        }
    }
}
