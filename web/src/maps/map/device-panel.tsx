import { NumberInput, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { macText, stateOf } from '../../devices/device.ts'
import { parseReport } from '../../devices/report.ts'
import { EmptyState, ProblemNote, Skeleton } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import type { PlacedDevice } from '../placement.ts'
import type { SiteDevices } from './use-site-devices.ts'

const SHOWN = 12

interface DevicePanelProps {
  readonly orgId: string
  readonly siteId: string
  readonly devices: SiteDevices
  readonly chosen: string | null
  /** The device that the next point is for. */
  readonly placing: string | null
  readonly mayWrite: boolean
  readonly onPlace: (mac: string) => void
}

/** The device that was chosen on the plan, and those that could be put on it. */
export function DevicePanel({ orgId, siteId, devices, chosen, placing, mayWrite, onPlace }: DevicePanelProps) {
  const device = devices.placed.find(({ stats }) => stats.mac === chosen)
  return (
    <Panel title="Devices" aside={devices.isKnown && `${devices.placed.length} on this plan`}>
      <ProblemNote problem={devices.error} />
      {device !== undefined && (
        <ChosenDevice
          key={device.stats.mac}
          orgId={orgId}
          siteId={siteId}
          device={device}
          devices={devices}
          mayWrite={mayWrite}
        />
      )}
      {mayWrite && <FreeDevices devices={devices} placing={placing} onPlace={onPlace} />}
      {!mayWrite && devices.isKnown && devices.placed.length === 0 && <EmptyState title="No devices on this plan" />}
      {devices.elsewhere > 0 && <p className="plan-line muted">{devices.elsewhere} on other plans of the site</p>}
      {devices.unseen > 0 && (
        <p className="plan-line muted">The site has {devices.unseen} more devices than a plan can show.</p>
      )}
    </Panel>
  )
}

interface ChosenDeviceProps extends Pick<DevicePanelProps, 'orgId' | 'siteId' | 'devices' | 'mayWrite'> {
  readonly device: PlacedDevice
}

function ChosenDevice({ orgId, siteId, device, devices, mayWrite }: ChosenDeviceProps) {
  const { stats, at, orientation } = device
  const { tone, text } = stateOf(stats.status, parseReport(stats).upgradeStep)
  return (
    <div className="plan-line">
      <p className="image-line">
        <Link to="/orgs/$orgId/sites/$siteId/devices/$mac" params={{ orgId, siteId, mac: stats.mac }}>
          {stats.name || macText(stats.mac)}
        </Link>
        <StateMark tone={tone}>{text}</StateMark>
      </p>
      <p className="muted">
        {stats.model} at {at.x}, {at.y}
      </p>
      {mayWrite && stats['locked'] === true && <p className="muted">It is locked, so it stays where it is.</p>}
      {mayWrite && (
        <div className="plan-turn">
          <NumberInput
            label="Orientation in degrees"
            min={0}
            max={359}
            allowDecimal={false}
            clampBehavior="strict"
            size="xs"
            defaultValue={orientation ?? 0}
            onBlur={({ currentTarget: { value } }) => {
              if (value !== '' && Number(value) !== (orientation ?? 0)) devices.turn(stats.mac, Number(value))
            }}
          />
          <Button variant="default" size="xs" onClick={() => devices.remove(stats.mac)}>
            Remove from the plan
          </Button>
        </div>
      )}
    </div>
  )
}

function FreeDevices({ devices, placing, onPlace }: Pick<DevicePanelProps, 'devices' | 'placing' | 'onPlace'>) {
  const [wanted, setWanted] = useState('')
  const text = wanted.trim().toLowerCase()
  const found = devices.free.filter(({ name, mac, model }) =>
    `${name} ${mac} ${macText(mac)} ${model}`.toLowerCase().includes(text),
  )
  if (!devices.isKnown) return devices.error === null && <Skeleton rows={3} />
  if (devices.free.length === 0)
    return devices.placed.length === 0 ? <EmptyState title="No devices to place at this site" /> : null
  return (
    <>
      <TextInput
        className="plan-filter"
        size="xs"
        aria-label="Search unplaced devices"
        placeholder={`Search ${devices.free.length} unplaced`}
        value={wanted}
        onChange={({ currentTarget: { value } }) => setWanted(value)}
      />
      <ul className="log">
        {found.slice(0, SHOWN).map(({ mac, name, model }) => (
          <li key={mac} className="image-line">
            <span>
              {name || macText(mac)} <span className="muted">{model}</span>
            </span>
            <Button
              variant={placing === mac ? 'filled' : 'default'}
              size="compact-xs"
              aria-pressed={placing === mac}
              aria-label={`Place ${name || macText(mac)}`}
              onClick={() => onPlace(mac)}
            >
              {placing === mac ? 'Click on the plan' : 'Place'}
            </Button>
          </li>
        ))}
      </ul>
      {found.length > SHOWN && <p className="plan-line muted">and {found.length - SHOWN} more</p>}
    </>
  )
}
