import { ViewerTime } from '../../display/times/time.tsx'
import { type Report, isRunning } from '../upgrade.ts'

/** When a running upgrade stops by itself; nothing where it does not. */
export function EndTime({ status, end_time: at }: Partial<Pick<Report, 'end_time'>> & Pick<Report, 'status'>) {
  return (
    at !== undefined &&
    isRunning(status) && (
      <span>
        Ends on <ViewerTime at={at} />
      </span>
    )
  )
}
