import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import * as x509 from '@peculiar/x509'
import { type SamlRequest, getSamlResponse, parseRequest } from 'samlp'
import { signXml } from 'samlp/lib/signers.js'

export interface KeyPair {
  readonly key: string
  readonly cert: string
}

/** A person as the identity provider knows them. */
export interface Person {
  readonly nameId: string
  readonly attributes?: Readonly<Record<string, string | readonly string[]>>
}

/**
 * A real SAML identity provider on loopback. Its page has a field for a name, and replies with a form that the browser
 * submits.
 */
export interface IdentityProvider {
  readonly issuer: string
  readonly ssoUrl: string
  readonly keys: KeyPair
  /** The people who can sign in, by their name on its page. */
  readonly people: Map<string, Person>
  /** Parses the request in the URL to which a service redirects browsers. */
  readRequest(address: string): Promise<SamlRequest>
  /** Creates the XML of a response to a request; `change` are options of the package. */
  respond(request: SamlRequest, person: Person, change?: Readonly<Record<string, unknown>>): Promise<string>
  /**
   * Signs XML that has no signature yet.
   *
   * @param reference The XPath of the element.
   */
  sign(xml: string, reference: string): string
  close(): Promise<void>
}

const algorithm = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
}

export async function makeKeys(modulusLength = 2048): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey({ ...algorithm, modulusLength }, true, ['sign', 'verify'])
  const cert = await x509.X509CertificateGenerator.createSelfSigned(
    { name: 'CN=idp', notBefore: new Date(0), notAfter: new Date(4e12), keys, signingAlgorithm: algorithm },
    webcrypto,
  )
  const der = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return { key: x509.PemConverter.encode(der, 'PRIVATE KEY'), cert: cert.toString('pem') }
}

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const keys = await makeKeys()
  const people = new Map<string, Person>()

  async function answer(request: IncomingMessage): Promise<string> {
    const fields = Object.fromEntries(new URLSearchParams(await text(request)))
    const asked = new URL(request.url ?? '/', provider.ssoUrl)
    const person = people.get(fields['user'] ?? '')
    if (person === undefined) return form(provider.ssoUrl, { SAMLRequest: asked.searchParams.get('SAMLRequest') ?? '' })
    const samlRequest = await parse(fields['SAMLRequest'] ?? '')
    const xml = await provider.respond(samlRequest, person)
    return form(samlRequest.assertionConsumerServiceURL, { SAMLResponse: encode(xml) })
  }

  const server = createServer((request, response) => {
    answer(request).then(
      (page) => response.setHeader('content-type', 'text/html').end(page),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}/idp`
  const provider: IdentityProvider = {
    issuer,
    ssoUrl: `http://127.0.0.1:${port}/sso`,
    keys,
    people,
    readRequest: (address) => parse(new URL(address).searchParams.get('SAMLRequest') ?? ''),
    respond: (request, person, change = {}) => respond({ ...defaults(request), issuer, ...keys, ...change }, person),
    sign: (xml, reference) => signXml({ ...keys, reference }, xml),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return provider
}

function defaults(request: SamlRequest): Record<string, unknown> {
  return {
    signatureAlgorithm: 'rsa-sha256',
    digestAlgorithm: 'sha256',
    audience: request.issuer,
    recipient: request.assertionConsumerServiceURL,
    destination: request.assertionConsumerServiceURL,
    inResponseTo: request.id,
    lifetimeInSeconds: 86_400,
  }
}

function parse(samlRequest: string): Promise<SamlRequest> {
  return new Promise((resolve, reject) => {
    parseRequest({ query: { SAMLRequest: samlRequest } }, (error, request) => {
      if (error !== null || request === undefined) reject(error ?? new Error('no request'))
      else resolve(request)
    })
  })
}

function respond(options: Record<string, unknown>, { nameId, attributes = {} }: Person): Promise<string> {
  const profileMapper = () => ({
    getClaims: () => attributes,
    getNameIdentifier: () => ({ nameIdentifier: nameId }),
  })
  return new Promise((resolve, reject) => {
    getSamlResponse({ ...options, profileMapper }, {}, (error, xml) => {
      if (error !== null || xml === undefined) reject(error ?? new Error('no response'))
      else resolve(xml)
    })
  })
}

export function encode(xml: string): string {
  return Buffer.from(xml).toString('base64')
}

function form(action: string, hidden: Record<string, string>): string {
  const inputs = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${name}" value="${value}" />`,
  )
  return `<form method="post" action="${action}">${inputs.join('')}</form>`
}
