import { ShareBar } from '../display/share-bar.tsx'
import { type Counts, targetStates } from './upgrade.ts'

/** The progress of the devices of an upgrade. */
export function UpgradeProgress({ counts }: { readonly counts: Counts }) {
  const order = [
    'upgraded',
    'rebooted',
    'reboot_in_progress',
    'downloaded',
    'downloading',
    'download_requested',
    'failed',
    'cancelled',
    'skipped',
    'scheduled',
  ] as const
  const shares = order.map((status) => {
    const { tone, text } = targetStates[status]
    return { name: text.toLowerCase(), tone, count: counts.get(status) ?? 0 }
  })
  return <ShareBar label="Devices" shares={shares} />
}
