import { createHmac, hash } from 'node:crypto'

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly region: string
}

export interface AwsRequest {
  readonly url: URL
  readonly service: string
  readonly contentType: string
  readonly body: Buffer
  readonly at: Date
}

/**
 * Returns the headers that authenticate a POST without a query. Source: AWS Signature Version 4. Only headers that this
 * function returns are signed, and the host.
 */
export function signAwsRequest(
  { accessKeyId, secretAccessKey, region }: AwsCredentials,
  { url, service, contentType, body, at }: AwsRequest,
): Record<string, string> {
  const time = at.toISOString().replaceAll(/[-:]|\.\d{3}/g, '')
  const date = time.slice(0, 8)
  const signed = { 'content-type': contentType, host: url.host, 'x-amz-date': time }
  const names = Object.keys(signed).join(';')
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`)
  const canonical = ['POST', encodePath(url.pathname), '', lines.join(''), names, hash('sha256', body, 'hex')].join(
    '\n',
  )
  const scope = `${date}/${region}/${service}/aws4_request`
  const text = ['AWS4-HMAC-SHA256', time, scope, hash('sha256', canonical, 'hex')].join('\n')
  const parts: readonly string[] = [date, region, service, 'aws4_request']
  const key = parts.reduce<Buffer>((from, part) => hmac(from, part), Buffer.from(`AWS4${secretAccessKey}`))
  const signature = hmac(key, text).toString('hex')
  return {
    'Content-Type': contentType,
    'X-Amz-Date': time,
    Authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  }
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

/** Signatures cover the path encoded once more. Source: AWS Signature Version 4, canonical request. */
function encodePath(path: string): string {
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
  return path.split('/').map(encode).join('/')
}
