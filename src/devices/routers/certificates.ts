/** A signing request of an agent whose signature has been checked. */
export interface CheckedRequest {
  /** SHA-256 of the public key (its SubjectPublicKeyInfo), in hex. */
  readonly keySha256: string
  /** Signs the key for ten years from `at`. No other part of the request enters the certificate. */
  sign(commonName: string, at: Date): Promise<AgentCertificate>
}

/** PEM texts. */
export interface AgentCertificate {
  readonly certificate: string
  /** The CA by which the agent verifies the gateway. */
  readonly ca: string
}

/** The dependencies of the registration of agents on the rest of the service. */
export interface AgentGateway {
  /** @throws AppError invalid naming `csr`. */
  checkRequest(csrPem: string): Promise<CheckedRequest>
  /** PEM of the CA that agents need to register over HTTPS; null: the service's certificate is another CA's, or none. */
  readonly httpCa: string | null
  /** The host and port to which agents connect. */
  address(): { readonly host: string; readonly port: number }
}
