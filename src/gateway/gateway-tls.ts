import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { GatewayTls } from './device-ca.ts'
import { gatewayCommonName } from './gateway-name.ts'

/** A kept certificate that ends sooner is made anew. */
const RENEW_BEFORE_MS = 365 * 24 * 3600e3

export interface GatewayTlsOptions {
  readonly dataDir: string
  /** Names and addresses under which clients reach the server; devices use the first. */
  readonly hosts: readonly [string, ...(readonly string[])]
  readonly now: Date
}

/**
 * The gateway's TLS material, signed by the installation's device CA. It is kept beside the CA
 * (`device-ca/gateway.pem`, key and certificate, mode 0600) and made anew when the CA or the hosts have
 * changed, when it nears its end, and when it can't be read: devices trust the CA, not the certificate.
 *
 * @throws AppError as loadDeviceCa().
 */
export async function openGatewayTls(options: GatewayTlsOptions): Promise<GatewayTls> {
  const folder = join(options.dataDir, 'device-ca')
  const path = join(folder, 'gateway.pem')
  const [ca, caKey, kept] = await Promise.all([join(folder, 'ca.pem'), join(folder, 'ca.key'), path].map(readIfThere))
  if (ca && caKey && kept && isUsable({ ca, kept }, options)) return { ca, cert: kept, key: kept }
  // Issuing takes a library that needs several megabytes and that most starts can do without.
  const { issueGatewayTls, loadDeviceCa } = await import('./device-ca.ts')
  const issued = await issueGatewayTls(await loadDeviceCa(options.dataDir), options.hosts)
  await writeFile(`${path}.new`, `${issued.key}\n${issued.cert}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return issued
}

interface Kept {
  readonly ca: string
  /** Key and certificate. */
  readonly kept: string
}

function isUsable({ ca, kept }: Kept, { hosts, now }: GatewayTlsOptions): boolean {
  try {
    const issuer = new X509Certificate(ca)
    const certificate = new X509Certificate(kept)
    return (
      certificate.checkIssued(issuer) &&
      certificate.verify(issuer.publicKey) &&
      certificate.checkPrivateKey(createPrivateKey(kept)) &&
      certificate.validToDate.getTime() - now.getTime() > RENEW_BEFORE_MS &&
      certificate.subject === `CN=${gatewayCommonName(hosts[0])}` &&
      hosts.every((host) => isFor(certificate, host))
    )
  } catch {
    return false // A file that was cut or edited is no reason not to start: another is made.
  }
}

function isFor(certificate: X509Certificate, host: string): boolean {
  const covered = isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)
  return covered !== undefined
}

async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}
