/** The values of one authorization request (RFC 6749), which the provider's redirect must return or prove. */
export interface AuthorizationRequest {
  readonly state: string
  /** Returned in the ID token, if the provider issues one. */
  readonly nonce: string
  /** PKCE (RFC 7636): proves that the code is redeemed by the client that requested it. */
  readonly verifier: string
}

/** A person at a provider, never identified by an e-mail address: addresses change hands. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** The parameters of the provider's redirect. */
export interface ProviderAnswer {
  readonly code: string
  readonly iss: string | undefined
}

/**
 * The client of one provider. Its functions throw AppError: invalid if the provider refuses or its answer is wrong,
 * unavailable.
 */
export interface OauthClient {
  /** The value that RFC 9207's parameter `iss` must have if it is sent. */
  readonly issuer: string
  /** True if the provider promises to always send `iss`. */
  readonly sendsIss: boolean
  authorizationUrl(redirectUri: string, authorization: AuthorizationRequest): Promise<string>
  /**
   * Redeems the provider's code.
   *
   * @param authorization Null for a code that was requested outside our flow.
   */
  identify(redirectUri: string, answer: ProviderAnswer, authorization: AuthorizationRequest | null): Promise<Identity>
}
