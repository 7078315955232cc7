/** A signing request of an agent whose signature has been checked. */
export interface CheckedRequest {
  /** SHA-256 of the public key (its SubjectPublicKeyInfo), in hex. */
  readonly keySha256: string
  /** Signs the key. Nothing else of the request becomes part of the certificate. */
  sign(commonName: string): Promise<AgentCertificate>
}

/** PEM texts. */
export interface AgentCertificate {
  readonly certificate: string
  /** By which the agent recognizes the gateway. */
  readonly ca: string
}

/** What the registration of agents needs from the rest of the service. */
export interface AgentGateway {
  /** @throws AppError invalid naming `csr`. */
  checkRequest(csrPem: string): Promise<CheckedRequest>
  /** PEM of the CA that agents need to register over HTTPS; null: the service's certificate is another CA's, or none. */
  readonly httpCa: string | null
  /** Where agents connect: a host and a port. */
  address(): { readonly host: string; readonly port: number }
}
