import { createHash, createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { SignatureV4 } from '@smithy/signature-v4'
import { jwtVerify } from 'jose'

export interface Peer {
  /** Without a path. */
  readonly url: string
  /** The accepted requests in order. */
  readonly accepted: Document[]
  close(): Promise<void>
}

type Document = Readonly<Record<string, unknown>>
type Answer = readonly [status: number, body: string, accepted?: Document]

async function startPeer(answer: (request: IncomingMessage, body: Buffer) => Promise<Answer>): Promise<Peer> {
  const accepted: Document[] = []
  const server = createServer((request, response) => {
    void buffer(request)
      .then((body) => answer(request, body))
      .then(([status, body, document]) => {
        if (document !== undefined) accepted.push(document)
        response.writeHead(status).end(body)
      })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // A server that listens on a port has no other address.
  return {
    url: `http://127.0.0.1:${port}`,
    accepted,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

class Sha256 {
  readonly #hash = createHash('sha256')
  readonly #key: Uint8Array | null
  constructor(key?: unknown) {
    this.#key = key === undefined ? null : bytesOf(key)
    if (this.#key !== null) this.#hash.update(padded(this.#key, 0x36))
  }
  update(data: unknown): void {
    this.#hash.update(bytesOf(data))
  }
  async digest(): Promise<Uint8Array> {
    const inner = this.#hash.digest()
    if (this.#key === null) return inner
    return createHash('sha256').update(padded(this.#key, 0x5c)).update(inner).digest()
  }
  reset(): void {}
}

function bytesOf(data: unknown): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : (data as Uint8Array)
}

/** HMAC, RFC 2104, for keys of one block. */
function padded(key: Uint8Array, pad: number): Buffer {
  const block = Buffer.alloc(64, pad)
  for (const [index, byte] of key.entries()) block[index] = byte ^ pad
  return block
}

const errorXml = (code: string, message: string): string =>
  `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`

/** A topic of SNS that checks each signature with Amazon's own signer, and answers as SNS documents. */
export function startSns(credentials: { accessKeyId: string; secretAccessKey: string }, topicArn: string) {
  const signer = new SignatureV4({
    credentials,
    region: topicArn.split(':')[3] ?? '',
    service: 'sns',
    sha256: Sha256,
    applyChecksum: false,
  })
  return startPeer(async ({ headers, method = '', url: path = '' }, body) => {
    const time = String(headers['x-amz-date'])
    const signed = { 'content-type': String(headers['content-type']), host: String(headers.host), 'x-amz-date': time }
    const [hostname = '', port = ''] = signed.host.split(':')
    const iso = time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')
    const request = { method, protocol: 'http:', hostname, port: Number(port), path, query: {}, headers: signed, body }
    const { headers: expected } = await signer.sign(request, { signingDate: new Date(iso) })
    if (expected['authorization'] !== headers.authorization)
      return [403, errorXml('SignatureDoesNotMatch', 'The request signature does not match')]
    const form = Object.fromEntries(new URLSearchParams(body.toString('utf8')))
    if (form['TopicArn'] !== topicArn) return [404, errorXml('NotFound', 'Topic does not exist')]
    return [200, '<PublishResponse><MessageId>1</MessageId></PublishResponse>', form]
  })
}

/** A topic of Pub/Sub with the server of its tokens, which checks each statement of the account. */
export function startPubsub(
  account: () => { readonly publicKey: string; readonly issuer: string; readonly now: Date },
) {
  let tokens = 0
  const peer: Promise<Peer> = startPeer(async (request, body) => {
    if (request.url === '/token') {
      const { publicKey, issuer, now } = account()
      const form = new URLSearchParams(body.toString('utf8'))
      const url = `${(await peer).url}/token`
      const valid = await jwtVerify(form.get('assertion') ?? '', createPublicKey(publicKey), {
        algorithms: ['RS256'],
        audience: url,
        issuer,
        currentDate: now,
        requiredClaims: ['iat', 'exp', 'scope'],
      }).catch(() => null)
      const isGranted = valid !== null && form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer'
      if (!isGranted) return [400, '{"error": "invalid_grant", "error_description": "Invalid JWT Signature."}']
      tokens += 1
      return [200, JSON.stringify({ access_token: `ya29.${tokens}`, expires_in: 3599, token_type: 'Bearer' })]
    }
    if (request.headers.authorization !== `Bearer ya29.${tokens}`)
      return [401, '{"error": {"code": 401, "message": "Invalid credentials", "status": "UNAUTHENTICATED"}}']
    if (request.url !== '/v1/projects/p/topics/t:publish')
      return [404, '{"error": {"code": 404, "message": "Resource not found (resource=t).", "status": "NOT_FOUND"}}']
    return [200, '{"messageIds": ["1"]}', JSON.parse(body.toString('utf8'))]
  })
  return peer
}

/** Splunk's HTTP Event Collector, which reads one JSON document after another. */
export function startSplunk(token: string): Promise<Peer> {
  return startPeer(async ({ headers, url }, body) => {
    if (headers.authorization !== `Splunk ${token}`) return [403, '{"text":"Invalid token","code":4}']
    if (headers['x-splunk-request-channel'] === undefined) return [400, '{"text":"Data channel is missing","code":10}']
    if (url === '/services/collector/raw')
      return [200, '{"text":"Success","code":0}', JSON.parse(body.toString('utf8'))]
    const events = body
      .toString('utf8')
      .split('\n')
      .map((line): Document => JSON.parse(line))
    if (events.some((event) => !('event' in event))) return [400, '{"text":"Event field is required","code":12}']
    return [200, '{"text":"Success","code":0,"ackId":0}', { events }]
  })
}
