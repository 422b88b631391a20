import Foundation
import MLCSwift

#if canImport(UIKit)
    import UIKit
#endif

/// What the system says about memory and heat.
enum SystemNotices {
    /// macOS has none: it swaps.
    @MainActor static var memoryWarning: Notification.Name? {
        #if canImport(UIKit)
            UIApplication.didReceiveMemoryWarningNotification
        #else
            nil
        #endif
    }

    /// A Mac does not suspend an app that has a window no more.
    static var suspendsApps: Bool {
        #if canImport(UIKit)
            true
        #else
            false
        #endif
    }

    /// While the app is seen it fetches files itself, so the screen stays on. macOS has no such timer.
    @MainActor static func keepAwake(_ isNeeded: Bool) {
        #if canImport(UIKit)
            UIApplication.shared.isIdleTimerDisabled = isNeeded
        #endif
    }

    static var thermalState: MLCSwift.ThermalState {
        switch ProcessInfo.processInfo.thermalState {
        case .nominal: .nominal
        case .fair: .fair
        case .serious: .serious
        case .critical: .critical
        @unknown default: .serious
        }
    }
}
