import { Panel } from '../../display/layout/panel.tsx'
import { Table } from '../../display/layout/table.tsx'
import { StateMark } from '../../display/state-mark.tsx'
import type { Member, Port, Radio, Report } from '../report.ts'

/** Radios, ports and members, as reported. A device that reports none has no panel. */
export function DeviceHardware({ report: { radios, members, ports } }: { readonly report: Report }) {
  return (
    <>
      {radios.length > 0 && <Radios radios={radios} />}
      {members.length > 0 && <Members members={members} />}
      {ports.length > 0 && <Ports ports={ports} />}
    </>
  )
}

function Radios({ radios }: { readonly radios: readonly Radio[] }) {
  return (
    <Panel title="Radios">
      <Table
        rows={radios}
        keyOf={({ band }) => band}
        columns={[
          { title: 'Band', renderCell: ({ band }) => band },
          { title: 'Channel', className: 'number', renderCell: ({ channel }) => channel ?? '–' },
          { title: 'Width', className: 'number', renderCell: ({ widthMhz }) => withUnit(widthMhz, 'MHz') },
          { title: 'Power', className: 'number', renderCell: ({ powerDbm }) => withUnit(powerDbm, 'dBm') },
          { title: 'Noise', className: 'wide number', renderCell: ({ noiseDbm }) => withUnit(noiseDbm, 'dBm') },
          { title: 'Clients', className: 'number', renderCell: ({ clients }) => clients ?? '–' },
        ]}
      />
    </Panel>
  )
}

function Members({ members }: { readonly members: readonly Member[] }) {
  return (
    <Panel title="Members" aside={members.length}>
      <Table
        rows={members}
        keyOf={({ index }) => index}
        columns={[
          { title: 'Member', renderCell: ({ index }) => index },
          { title: 'Model', renderCell: ({ model }) => model ?? '–' },
          { title: 'Serial', cellClassName: 'mono', renderCell: ({ serial }) => serial ?? '–' },
          { title: 'Version', renderCell: ({ version }) => version ?? '–' },
        ]}
      />
    </Panel>
  )
}

function Ports({ ports }: { readonly ports: readonly Port[] }) {
  return (
    <Panel title="Ports" aside={`${ports.filter(({ isUp }) => isUp).length} of ${ports.length} up`}>
      <Table
        rows={ports}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Port', renderCell: ({ name }) => name },
          {
            title: 'Link',
            renderCell: ({ isUp }) => <StateMark tone={isUp ? 'good' : 'idle'}>{isUp ? 'Up' : 'Down'}</StateMark>,
          },
          { title: 'Speed', className: 'number', renderCell: ({ speedMbps }) => withUnit(speedMbps, 'Mbit/s') },
          { title: 'Errors in', className: 'number', renderCell: ({ errorsIn }) => errorsIn ?? '–' },
        ]}
      />
    </Panel>
  )
}

function withUnit(value: number | null, name: string): string {
  return value === null ? '–' : `${value} ${name}`
}
