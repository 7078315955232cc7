/**
 * The body of a server's answer: tests inspect it with matchers, which verify what a type would only assert. This is
 * the only type that the tests leave open.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyJson = any
