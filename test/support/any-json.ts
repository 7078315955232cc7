/**
 * What a server answered: tests look into it with matchers, which check what its type would only claim.
 * The one place where a type is given up.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyJson = any
