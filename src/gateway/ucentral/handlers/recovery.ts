import { recordRecovery } from '../../../devices/sessions/record-recovery.ts'
import type { Recovery } from '../messages.ts'
import type { Session } from '../session.ts'
import type { LinkHost } from '../../protocol.ts'

export async function onRecovery(host: LinkHost, session: Session, { reboot }: Recovery): Promise<void> {
  host.ctx.log.info({ mac: session.mac }, 'the device is in recovery mode')
  if (reboot === true) await recordRecovery(host.ctx, session.deviceId)
}
