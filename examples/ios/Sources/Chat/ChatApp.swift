import ChatScreen
import Network
import Stepwell
import SwiftUI

/// An AG-UI agent holds the key to the model; `stepwell serve` is one.
private let agent = Agent(
    model: .agUi("http://127.0.0.1:8000/agent"),
    tools: [
        AgentTool("get_time", "The time on this phone.", requiresApproval: true) { _ in
            Date.now.formatted(date: .complete, time: .standard)
        }
    ],
    device: DevicePolicy(background: .pauseClocks))

@main
struct ChatApp: App {
    @Environment(\.scenePhase) private var phase
    @State private var screen = ChatScreen(agent: agent)
    @State private var granted = UIBackgroundTaskIdentifier.invalid
    private let network = NWPathMonitor()

    var body: some Scene {
        WindowGroup {
            ChatView(screen: screen).task {
                let folder = URL.applicationSupportDirectory
                try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                network.pathUpdateHandler = { [screen] path in
                    let isOnline = path.status == .satisfied
                    Task { @MainActor in screen.reaches(isOnline) }
                }
                network.start(queue: .main)
                await screen.open(folder.appendingPathComponent("chat.sqlite"))
            }
        }
        .onChange(of: phase) { _, phase in
            switch phase {
            case .background:
                // The seconds that the system grants; what they do not suffice for continues from the file.
                granted = UIApplication.shared.beginBackgroundTask { giveBack() }
                screen.shows(false)
            case .active:
                screen.shows(true)
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
