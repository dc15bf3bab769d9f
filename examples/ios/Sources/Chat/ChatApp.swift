import ChatTurn
import Network
import Stepwell
import StepwellMachine
import SwiftUI

/// What the system tells the app beside SwiftUI.
@MainActor
final class AppDelegate: NSObject, UIApplicationDelegate {
    let background = BackgroundTransport()
    private let network = NWPathMonitor()
    private(set) lazy var chat: Chat = {
        let file = URL.applicationSupportDirectory.appendingPathComponent("chat.json")
        try? FileManager.default.createDirectory(at: .applicationSupportDirectory, withIntermediateDirectories: true)
        // An AG-UI agent holds the key to the model; `stepwell serve` is one.
        let config = RunConfig(
            provider: "ag-ui", baseUrl: "http://127.0.0.1:8000/agent",
            device: DevicePolicy(background: .pauseClocks))
        let time = ChatTool(ToolDefinition(name: "get_time", description: "The time on this phone.")) { _ in
            Date.now.formatted(date: .complete, time: .standard)
        }
        return Chat(
            config: config, tools: [time], store: ChatStore(file: file), foreground: StreamTransport(),
            background: background)
    }()

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions launchOptions: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        Task { chat.takeUp(pending: await background.pending()) }
        network.pathUpdateHandler = { [chat] path in
            let isOnline = path.status == .satisfied
            Task { @MainActor in isOnline ? chat.networkAvailable() : chat.networkLost() }
        }
        network.start(queue: .main)
        return true
    }

    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        background.onFinished = completionHandler
    }
}

@main
struct ChatApp: App {
    @UIApplicationDelegateAdaptor private var delegate: AppDelegate
    @Environment(\.scenePhase) private var phase
    @State private var granted = UIBackgroundTaskIdentifier.invalid

    var body: some Scene {
        WindowGroup {
            ChatView(chat: delegate.chat)
        }
        .onChange(of: phase) { _, phase in
            switch phase {
            case .background:
                granted = UIApplication.shared.beginBackgroundTask {
                    delegate.chat.ranOutOfTime()
                    giveBack()
                }
                delegate.chat.enteredBackground()
            case .active:
                delegate.chat.enteredForeground()
                giveBack()
            default:
                break
            }
        }
    }

    private func giveBack() {
        guard granted != .invalid else { return }
        UIApplication.shared.endBackgroundTask(granted)
        granted = .invalid
    }
}
