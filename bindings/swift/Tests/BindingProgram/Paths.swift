import MLCSwift

/// A step of a path such as `a.b[2]["the key"]`.
enum Step: Hashable {
    case member(String)
    case item(Int)
}

func steps(_ path: String) throws -> [Step] {
    var steps: [Step] = []
    var rest = path[...]
    while let first = rest.first {
        if rest.hasPrefix("[\"") {
            guard let end = rest.firstRange(of: "\"]") else { throw UsageError("path \(path)") }
            steps.append(.member(String(rest[..<end.lowerBound].dropFirst(2))))
            rest = rest[end.upperBound...]
        } else if first == "[" {
            guard let end = rest.firstIndex(of: "]"), let index = Int(rest[..<end].dropFirst())
            else { throw UsageError("path \(path)") }
            steps.append(.item(index))
            rest = rest[end...].dropFirst()
        } else {
            if first == "." { rest.removeFirst() }
            let end = rest.firstIndex { $0 == "." || $0 == "[" } ?? rest.endIndex
            steps.append(.member(String(rest[..<end])))
            rest = rest[end...]
        }
    }
    return steps
}

extension JSONValue {
    func removing(_ path: ArraySlice<Step>) -> JSONValue {
        guard let step = path.first else { return self }
        switch (self, step) {
        case (.object(var object), .member(let key)):
            guard let value = object[key] else { return self }
            object[key] = path.count == 1 ? nil : value.removing(path.dropFirst())
            return .object(object)
        case (.array(var items), .item(let index)) where items.indices.contains(index):
            items[index] = items[index].removing(path.dropFirst())
            return .array(items)
        default:
            return self
        }
    }

    /// Equal as JSON: without order of members, 1 is 1.0.
    func means(_ other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let mine), .object(let theirs)):
            return Set(mine.keys) == Set(theirs.keys)
                && mine.members.allSatisfy { theirs[$0.key]?.means($0.value) ?? false }
        case (.array(let mine), .array(let theirs)):
            return mine.count == theirs.count && zip(mine, theirs).allSatisfy { $0.means($1) }
        default:
            if self == other { return true }
            guard let mine = self.doubleValue, let theirs = other.doubleValue else { return false }
            return mine == theirs
        }
    }
}

/// The typed value at a path, by reflection. Unions are transparent.
func typedValue(_ root: Any, at path: String) throws -> Any? {
    try steps(path).reduce(Optional(root)) { value, step in
        guard let value else { throw UsageError("nothing before \(step)") }
        return try take(step, from: held(value))
    }
}

/// What an optional or a union holds; the value itself of anything else.
func held(_ value: Any) -> Any {
    guard let value = present(value) else { return value }
    let mirror = Mirror(reflecting: value)
    let isUnion = mirror.displayStyle == .enum && !(value is any WireEnum) && !(value is JSONValue)
    guard isUnion, let payload = mirror.children.first?.value else { return value }
    return held(payload)
}

/// Without the optional around it; nil for an empty one.
func present(_ value: Any) -> Any? {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return value }
    return mirror.children.first.flatMap { present($0.value) }
}

private func take(_ step: Step, from value: Any) throws -> Any? {
    if let json = (value as? JSONValue) ?? (value as? JSONObject)?.jsonValue {
        switch step {
        case .member(let key): return json[key]
        case .item(let index): return json[index]
        }
    }
    let mirror = Mirror(reflecting: value)
    switch step {
    case .item(let index):
        return mirror.children.dropFirst(index).first?.value
    case .member(let key) where mirror.displayStyle == .dictionary:
        let pairs = mirror.children.map { Array(Mirror(reflecting: $0.value).children) }
        return pairs.first { "\($0[0].value)" == key }?[1].value
    case .member(let key):
        // A name that is taken has an underscore behind it.
        guard let found = mirror.children.first(where: { $0.label == key || $0.label == key + "_" })
        else { throw UsageError("\(type(of: value)) has no \(key)") }
        return found.value
    }
}
