// Stand-ins for the names of SwiftUI that MLCChat uses, so that its own calls are typed on a system
// without SwiftUI. They show nothing. What they accept is a subset of what SwiftUI's documentation
// declares.
@_exported import Foundation
@_exported import Observation

@MainActor public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}
extension Never: View { public var body: Never { fatalError() } }
public protocol Primitive: View where Body == Never {}
extension Primitive { public var body: Never { fatalError() } }

public struct EmptyView: Primitive {}
public struct TupleView<each V: View>: Primitive {}
public struct AnyView: Primitive {}
extension Optional: View where Wrapped: View { public var body: Never { fatalError() } }
public struct Either<A: View, B: View>: Primitive {}

@resultBuilder public enum ViewBuilder {
    public static func buildBlock() -> EmptyView { fatalError() }
    public static func buildBlock<V: View>(_ view: V) -> V { view }
    public static func buildBlock<each V: View>(_ views: repeat each V) -> TupleView<repeat each V>
    {
        fatalError()
    }
    public static func buildIf<V: View>(_ view: V?) -> V? { view }
    public static func buildEither<A: View, B: View>(first: A) -> Either<A, B> { fatalError() }
    public static func buildEither<A: View, B: View>(second: B) -> Either<A, B> { fatalError() }
}

@MainActor public protocol Scene { associatedtype Body }
@MainActor public protocol App {
    associatedtype Content: Scene
    var body: Content { get }
    init()
}
extension App { public static func main() {} }
public struct WindowGroup<Content: View>: Scene {
    public typealias Body = Never
    public init(@ViewBuilder content: () -> Content) {}
}
extension Scene {
    public func onChange<V: Equatable>(of: V, _ act: @escaping (V, V) -> Void) -> Self { self }
}
@MainActor public protocol PreviewProvider {
    associatedtype Previews: View
    @ViewBuilder static var previews: Previews { get }
}

@MainActor @propertyWrapper public struct State<Value> {
    public init(wrappedValue: Value) {}
    public init(initialValue: Value) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { fatalError() }
}
extension State where Value: ExpressibleByNilLiteral { public init() {} }
@MainActor @propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    public init(get: @escaping () -> Value, set: @escaping (Value) -> Void) {}
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set {}
    }
    public var projectedValue: Binding<Value> { self }
    public static func constant(_ value: Value) -> Binding<Value> { fatalError() }
    public subscript<Part>(dynamicMember path: WritableKeyPath<Value, Part>) -> Binding<Part> {
        fatalError()
    }
}
@MainActor @propertyWrapper @dynamicMemberLookup
public struct Bindable<Value: AnyObject & Observable> {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value { fatalError() }
    public var projectedValue: Bindable<Value> { self }
    public subscript<Part>(
        dynamicMember path: ReferenceWritableKeyPath<Value, Part>
    ) -> Binding<Part> { fatalError() }
}
public enum ScenePhase: Equatable, Sendable { case active, inactive, background }
public struct DismissAction { @MainActor public func callAsFunction() {} }
public struct OpenURLAction { @MainActor public func callAsFunction(_ url: URL) {} }
public struct EnvironmentValues {
    public var openURL: OpenURLAction { fatalError() }
    public var dismiss: DismissAction { fatalError() }
    public var scenePhase: ScenePhase { fatalError() }
}
@MainActor @propertyWrapper public struct Environment<Value> {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}

public struct LocalizedStringKey: ExpressibleByStringInterpolation {
    public struct StringInterpolation: StringInterpolationProtocol {
        public init(literalCapacity: Int, interpolationCount: Int) {}
        public mutating func appendLiteral(_ text: String) {}
        public mutating func appendInterpolation(_ text: String) {}
        public mutating func appendInterpolation(_ number: Int) {}
    }
    public init(stringLiteral: String) {}
    public init(stringInterpolation: StringInterpolation) {}
}

public struct Text: Primitive {
    public enum DateStyle { case date }
    public init(_ key: LocalizedStringKey) {}
    public init(verbatim: String) {}
    @_disfavoredOverload public init(_ text: AttributedString) {}
    public init(_ date: Date, style: DateStyle) {}
}
public struct Image: Primitive { public init(systemName: String) {} }
public struct Label<T, I>: Primitive {}
extension Label where T == Text, I == Image {
    public init(_ key: LocalizedStringKey, systemImage: String) {}
}
extension Label where T: View, I: View {
    public init(@ViewBuilder title: () -> T, @ViewBuilder icon: () -> I) {}
}
public struct ButtonRole: Sendable {
    public static let destructive = ButtonRole()
    public static let cancel = ButtonRole()
}
public struct Button<L>: Primitive {}
extension Button where L == Text {
    public init(_ key: LocalizedStringKey, action: @escaping @MainActor () -> Void) {}
    public init(
        _ key: LocalizedStringKey, role: ButtonRole?, action: @escaping @MainActor () -> Void
    ) {}
}
extension Button where L: View {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> L) {}
}
public enum HorizontalAlignment: Sendable { case leading, center, trailing }
public enum VerticalAlignment: Sendable { case top, center, bottom, firstTextBaseline }
public struct Alignment: Sendable {
    public static let center = Alignment(), leading = Alignment()
}
public struct VStack<C: View>: Primitive {
    public init(
        alignment: HorizontalAlignment = .center, spacing: Double? = nil,
        @ViewBuilder content: () -> C
    ) {}
}
public struct LazyVStack<C: View>: Primitive {
    public init(
        alignment: HorizontalAlignment = .center, spacing: Double? = nil,
        @ViewBuilder content: () -> C
    ) {}
}
public struct HStack<C: View>: Primitive {
    public init(
        alignment: VerticalAlignment = .center, spacing: Double? = nil,
        @ViewBuilder content: () -> C
    ) {}
}
public struct List<C: View>: Primitive {
    public init(@ViewBuilder content: () -> C) {}
    public init<V: Hashable>(selection: Binding<V?>, @ViewBuilder content: () -> C) {}
}
public struct NavigationLink<L: View>: Primitive {
    public init<V: Hashable>(value: V?, @ViewBuilder label: () -> L) {}
}
public struct Link: Primitive {
    public init(_ key: LocalizedStringKey, destination: URL) {}
}
public struct ViewThatFits<C: View>: Primitive {
    public init(in axes: Axis, @ViewBuilder content: () -> C) {}
}
public struct Grid<C: View>: Primitive {
    public init(
        alignment: Alignment = .center, horizontalSpacing: CGFloat? = nil,
        verticalSpacing: CGFloat? = nil, @ViewBuilder content: () -> C
    ) {}
}
public struct GridRow<C: View>: Primitive { public init(@ViewBuilder content: () -> C) {} }
public struct Divider: Primitive { public init() {} }
public struct Form<C: View>: Primitive { public init(@ViewBuilder content: () -> C) {} }
public struct TabView<C: View>: Primitive { public init(@ViewBuilder content: () -> C) {} }
public struct ScrollView<C: View>: Primitive {
    public init(_ axis: Axis = .vertical, @ViewBuilder content: () -> C) {}
}
public struct NavigationStack<C: View>: Primitive { public init(@ViewBuilder root: () -> C) {} }
public struct NavigationSplitView<S: View, D: View>: Primitive {
    public init(
        preferredCompactColumn: Binding<NavigationSplitViewColumn>, @ViewBuilder sidebar: () -> S,
        @ViewBuilder detail: () -> D
    ) {}
}
public struct NavigationSplitViewColumn: Hashable, Sendable {
    private let name: String
    public static let sidebar = Self(name: "sidebar"), detail = Self(name: "detail")
}
public struct Menu<L: View, C: View>: Primitive {
    public init(@ViewBuilder content: () -> C, @ViewBuilder label: () -> L) {}
}
public struct Section<C: View>: Primitive {
    public init(@ViewBuilder content: () -> C) {}
    public init(_ key: LocalizedStringKey, @ViewBuilder content: () -> C) {}
}
public struct DisclosureGroup<C: View>: Primitive {
    public init(_ key: LocalizedStringKey, @ViewBuilder content: () -> C) {}
}
public struct LabeledContent<C: View>: Primitive {
    public init(_ key: LocalizedStringKey, @ViewBuilder content: () -> C) {}
}
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, C: View>: Primitive {
    public init(
        _ data: Data, id: KeyPath<Data.Element, ID>,
        @ViewBuilder content: @escaping (Data.Element) -> C
    ) {}
}
extension ForEach where Data.Element: Identifiable, ID == Data.Element.ID {
    public init(_ data: Data, @ViewBuilder content: @escaping (Data.Element) -> C) {}
}
public struct ScrollViewProxy {
    @MainActor public func scrollTo<ID: Hashable>(_ id: ID, anchor: UnitPoint?) {}
}
public struct UnitPoint: Sendable { public static let bottom = UnitPoint() }
public struct ScrollViewReader<C: View>: Primitive {
    public init(@ViewBuilder content: @escaping (ScrollViewProxy) -> C) {}
}
public struct ContentUnavailableView: Primitive {
    public init(_ key: LocalizedStringKey, systemImage: String, description: Text? = nil) {}
}
public enum Axis { case horizontal, vertical }
public struct TextField: Primitive {
    public init(_ key: LocalizedStringKey, text: Binding<String>) {}
    public init(_ key: LocalizedStringKey, text: Binding<String>, axis: Axis) {}
    public init<F: ParseableFormatStyle>(
        _ key: LocalizedStringKey, value: Binding<F.FormatInput?>, format: F
    ) where F.FormatOutput == String {}
}
public struct Toggle: Primitive {
    public init(_ key: LocalizedStringKey, isOn: Binding<Bool>) {}
}
public struct Picker<S: Hashable, C: View>: Primitive {
    public init(_ key: LocalizedStringKey, selection: Binding<S>, @ViewBuilder content: () -> C) {}
}
public struct ProgressView<L>: Primitive {}
extension ProgressView where L == EmptyView {
    public init() {}
    public init(value: Double?) {}
}
extension ProgressView where L: View {
    public init(value: Double?, @ViewBuilder label: () -> L) {}
}

@MainActor public protocol ToolbarContent {}
public struct ToolbarItem<C: View>: ToolbarContent { public init(@ViewBuilder content: () -> C) {} }
public struct TupleToolbar: ToolbarContent {}
@resultBuilder public enum ToolbarContentBuilder {
    public static func buildBlock<each T: ToolbarContent>(_ items: repeat each T) -> TupleToolbar {
        fatalError()
    }
}
