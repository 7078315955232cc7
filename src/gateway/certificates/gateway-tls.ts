import { X509Certificate, createPrivateKey } from 'node:crypto'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { readIfThere, writeWhole } from '../../platform/storage/files.ts'
import type { GatewayTls } from './device-ca.ts'
import { gatewayCommonName } from './gateway-name.ts'

/** A stored certificate that expires sooner than this is replaced. */
const RENEW_BEFORE_MS = 365 * 24 * 3600e3

export interface GatewayTlsOptions {
  readonly dataDir: string
  /** Names and addresses under which clients reach the server; devices use the first. */
  readonly hosts: readonly [string, ...(readonly string[])]
  readonly now: Date
}

/**
 * Opens the gateway's key and certificate, which the installation's device CA has signed. They are stored
 * beside the CA (`device-ca/gateway.pem`, mode 0600) and are replaced when the CA or the hosts have changed,
 * when the certificate expires soon, and when the file can't be read. Devices trust the CA, so they accept
 * the new certificate.
 *
 * @throws AppError as loadDeviceCa().
 */
export async function openGatewayTls(options: GatewayTlsOptions): Promise<GatewayTls> {
  const folder = join(options.dataDir, 'device-ca')
  const path = join(folder, 'gateway.pem')
  const [ca, caKey, kept] = await Promise.all([join(folder, 'ca.pem'), join(folder, 'ca.key'), path].map(readIfThere))
  if (ca && caKey && kept && isUsable({ ca, kept }, options)) return { ca, cert: kept, key: kept }
  // The library for issuing needs several megabytes of memory, and most starts issue nothing.
  const { issueGatewayTls, loadDeviceCa } = await import('./device-ca.ts')
  const issued = await issueGatewayTls(await loadDeviceCa(options.dataDir), options.hosts)
  await writeWhole(path, `${issued.key}\n${issued.cert}\n`)
  return issued
}

interface Kept {
  readonly ca: string
  /** PEM of the key and of the certificate. */
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
    return false // A truncated or edited file must not prevent the start; the caller replaces it.
  }
}

function isFor(certificate: X509Certificate, host: string): boolean {
  const covered = isIP(host) === 0 ? certificate.checkHost(host, { subject: 'never' }) : certificate.checkIP(host)
  return covered !== undefined
}
