import type { Schemas } from '../api/client.ts'
import type { StateWords } from './device.ts'

/** The life of a command, to a device or to an edge appliance. */
export const commandWords: Readonly<Record<Schemas['DeviceCommand' | 'MxedgeCommand']['status'], StateWords>> = {
  queued: { tone: 'idle', text: 'Queued' },
  sent: { tone: 'busy', text: 'Sent' },
  done: { tone: 'good', text: 'Done' },
  rejected: { tone: 'bad', text: 'Rejected' },
  unknown: { tone: 'warn', text: 'Unknown end' },
  expired: { tone: 'warn', text: 'Expired' },
  cancelled: { tone: 'idle', text: 'Cancelled' },
}
