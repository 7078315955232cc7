import { type KeyPairPem, issueDeviceCertificate, loadDeviceCa } from '../../src/gateway/certificates/device-ca.ts'
import type { Signalbox } from './signalbox.ts'

export interface BenchDevice {
  readonly mac: string
  readonly serial: string
  readonly model: string
  readonly type: 'ap' | 'switch'
}

/** A device with the key pair that proves its identity. */
export interface EnrolledDevice extends KeyPairPem {
  readonly mac: string
}

/** How much lower the priority of devices is than that of the server: real ones have processors of their own. */
export const DEVICE_NICENESS = 10

const CLAIMS_AT_ONCE = 500

const kinds = {
  ap: { firstByte: '02', model: 'EAP101' },
  switch: { firstByte: '06', model: 'EX4100-48P' },
} as const

/** Creates devices that the organization has claimed and that have never connected. */
export async function claimDevices(
  { orgId, call, operate }: Pick<Signalbox, 'orgId' | 'call' | 'operate'>,
  count: number,
  type: BenchDevice['type'] = 'ap',
): Promise<BenchDevice[]> {
  const { firstByte, model } = kinds[type]
  const devices = Array.from({ length: count }, (_, index): BenchDevice => {
    const mac = `${firstByte}${index.toString(16).padStart(10, '0')}`
    return { mac, serial: `B${mac}`, model, type }
  })
  const codeOf = ({ mac }: BenchDevice): string => `BEN${mac.toUpperCase()}`
  for (let from = 0; from < count; from += CLAIMS_AT_ONCE) {
    const some = devices.slice(from, from + CLAIMS_AT_ONCE)
    const manifest = some.map((device) => Object.assign({ claim_code: codeOf(device) }, device))
    await operate('POST', '/operator/v1/manifest', { devices: manifest })
    await call('POST', `/api/v1/orgs/${orgId}/inventory`, some.map(codeOf))
  }
  return devices
}

export async function enroll(
  { dataDir }: Signalbox,
  devices: readonly BenchDevice[],
): Promise<{ readonly ca: string; readonly devices: EnrolledDevice[] }> {
  const ca = await loadDeviceCa(dataDir)
  const enrolled: EnrolledDevice[] = []
  for (const { mac } of devices) enrolled.push(Object.assign({ mac }, await issueDeviceCertificate(ca, mac)))
  return { ca: ca.certificatePem, devices: enrolled }
}
