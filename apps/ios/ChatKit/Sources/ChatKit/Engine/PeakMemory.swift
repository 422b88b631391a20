import Foundation

/// The most memory that this process has held.
enum PeakMemory {
    #if os(Linux)
        static func bytes() -> Int? {
            let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            return kilobytes.map { $0 * 1024 }
        }
    #else
        static func bytes() -> Int? {
            var info = task_vm_info_data_t()
            let words = MemoryLayout<task_vm_info_data_t>.size / MemoryLayout<integer_t>.size
            var count = mach_msg_type_number_t(words)
            let status = withUnsafeMutablePointer(to: &info) { pointer in
                pointer.withMemoryRebound(to: integer_t.self, capacity: words) {
                    task_info(mach_task_self_, task_flavor_t(TASK_VM_INFO), $0, &count)
                }
            }
            return status == KERN_SUCCESS ? Int(info.ledger_phys_footprint_peak) : nil
        }
    #endif
}
