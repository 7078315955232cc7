import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { readIfThere, writeWhole } from '../../platform/storage/files.ts'

/** Certificates of devices last ten years, and the last ones that the former certificate of the CA limits must not be shorter. */
const RENEW_BEFORE_MS = 11 * 366 * 24 * 3600e3

/**
 * Replaces the certificate of the installation's own device CA in its last eleven years. Devices and agents get the new one with
 * their next certificates, which are due before the former certificate of the CA ends.
 * @returns True if it was replaced.
 */
export async function renewDeviceCa(dataDir: string, now: Date): Promise<boolean> {
  const folder = join(dataDir, 'device-ca')
  const path = join(folder, 'ca.pem')
  const pem = await readIfThere(path)
  if (pem === null || !isDue(new X509Certificate(pem), now)) return false
  // The library for issuing needs several megabytes of memory, and most starts issue nothing.
  const { openDeviceCa, renewCa } = await import('./device-ca.ts')
  const { certificatePem } = await renewCa(await openDeviceCa(folder), now)
  await writeWhole(path, certificatePem, 0o644)
  return true
}

/** A CA that another one has signed is the operator's own. */
function isDue(certificate: X509Certificate, now: Date): boolean {
  const isOwn = certificate.checkIssued(certificate)
  return isOwn && certificate.validToDate.getTime() - now.getTime() < RENEW_BEFORE_MS
}
