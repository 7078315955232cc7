import { endsUpgrade, ucentralDriver } from '../driver.ts'
import { type DeviceEvent, isUpgradeStatus } from '../messages.ts'
import type { Session } from '../session.ts'
import type { UcentralHost } from '../host.ts'
import { reportOf } from './report-of.ts'

export async function onEvent(host: UcentralHost, session: Session, { data }: DeviceEvent): Promise<void> {
  const [atS, { type, payload }] = data.event
  const event = { type, payload }
  const upgradeEndS = endsUpgrade(event) ? atS : null
  await host.onEvent(session, { decode: (sent) => ucentralDriver.decodeEvent(sent, event), upgradeEndS })
  const cause = bootCauses.get(type)
  if (cause !== undefined) host.lost.onStart(session)
  if (cause !== undefined) return host.report(reportOf(session, { boot: { atS, cause } }))
  if (type !== 'firmware_upgrade_status' || !isUpgradeStatus(payload)) return
  const { operation, percentage } = payload
  if (operation === 'download' || operation === 'install') host.lost.onProgress(session)
  return host.report(reportOf(session, { firmware: { operation, percent: percentage ?? null } }))
}

/** The events by which the switch client reports, when it starts, why and when the switch booted. */
const bootCauses: ReadonlyMap<string, string> = new Map([
  ['device.reboot', 'reboot'],
  ['device.powerloss', 'powerloss'],
  ['device.crash', 'crash'],
])
