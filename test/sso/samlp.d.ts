/** The part of the package that the tests use; it has no types of its own. */
declare module 'samlp' {
  export interface SamlRequest {
    readonly id: string
    readonly issuer: string
    readonly assertionConsumerServiceURL: string
  }

  export function parseRequest(
    request: { readonly query: Readonly<Record<string, string>> },
    callback: (error: Error | null, request?: SamlRequest) => void,
  ): void

  export function getSamlResponse(
    options: Readonly<Record<string, unknown>>,
    user: unknown,
    callback: (error: Error | null, xml?: string) => void,
  ): void
}

declare module 'samlp/lib/signers.js' {
  /** Adds an enveloped signature after the first Issuer. */
  export function signXml(
    options: { readonly key: string; readonly cert: string; readonly reference?: string },
    xml: string,
  ): string
}
