import Foundation

/// The URL that contains a picture's file. The core detects the kind of picture.
func dataURL(of bytes: Data) -> String {
    "data:;base64," + bytes.base64EncodedString()
}
