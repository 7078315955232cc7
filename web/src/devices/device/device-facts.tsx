import type { ReactNode } from 'react'
import { Facts } from '../../display/layout/facts.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { duration } from '../../display/times/times.ts'
import { macText } from '../device.ts'
import type { Report } from '../report.ts'
import type { DeviceStats } from '../use-live-devices.ts'

interface DeviceFactsProps {
  readonly stats: DeviceStats
  readonly report: Report
  readonly zone: string | undefined
}

/** The facts and the last report of the device; missing values have no line. */
export function DeviceFacts({ stats, report, zone }: DeviceFactsProps) {
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['MAC', macText(stats.mac)],
    ['Serial', stats.serial],
    ['Address', stats.ip],
    ['Seen from', stats.ext_ip],
    ['Up for', stats.uptime === undefined ? undefined : duration(stats.uptime)],
    ['Last seen', stats.last_seen === undefined ? undefined : <SiteTime at={stats.last_seen} zone={zone} />],
    ['Clients', report.clients ?? undefined],
    ['Processor', report.cpuPercent === null ? undefined : `${report.cpuPercent} %`],
    ['Memory', memoryText(report)],
    ['Uplink', report.uplink === null ? undefined : uplinkText(report.uplink)],
  ]
  return (
    <Panel title="Facts">
      <Facts facts={facts} />
    </Panel>
  )
}

function memoryText({ memory }: Report): string | undefined {
  if (memory === null) return undefined
  return `${Math.round((100 * memory.usedKb) / memory.totalKb)} % of ${Math.round(memory.totalKb / 1024)} MiB`
}

function uplinkText({ system, port }: NonNullable<Report['uplink']>): string {
  return port === null ? system : `${system}, port ${port}`
}
