import { useTextZone } from '../../display/times/text-zone.ts'
import { SiteTime } from '../../display/times/time.tsx'
import { type Report, isRunning } from '../upgrade.ts'

/** When a running upgrade stops by itself; nothing where it does not. */
export function EndTime({ status, end_time: at }: Partial<Pick<Report, 'end_time'>> & Pick<Report, 'status'>) {
  const zone = useTextZone()
  return (
    at !== undefined &&
    isRunning(status) && (
      <span>
        Ends on <SiteTime at={at} zone={zone} />
      </span>
    )
  )
}
