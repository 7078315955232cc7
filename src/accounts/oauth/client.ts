/** One authorization of a browser to a provider: what goes there and must come back. */
export interface AuthorizationRequest {
  readonly state: string
  /** Returned inside the ID token, where the provider issues one. */
  readonly nonce: string
  /** PKCE (RFC 7636): proves that who redeems the code is who asked for it. */
  readonly verifier: string
}

/** Who somebody is at a provider. Never an e-mail address: those change hands. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** What the provider's redirect brought. */
export interface ProviderAnswer {
  readonly code: string
  readonly iss: string | undefined
}

/** Our side of one provider. Its functions throw AppError: invalid for what it refuses or answers wrongly, unavailable. */
export interface OauthClient {
  /** What RFC 9207's parameter `iss` must be where it is sent. */
  readonly issuer: string
  /** The provider promises to send it always. */
  readonly sendsIss: boolean
  authorizationUrl(redirectUri: string, authorization: AuthorizationRequest): Promise<string>
  /** Redeems the provider's code. @param authorization Null for a code that was not asked for through us. */
  identify(redirectUri: string, answer: ProviderAnswer, authorization: AuthorizationRequest | null): Promise<Identity>
}
