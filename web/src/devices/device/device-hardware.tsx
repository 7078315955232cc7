import { Panel } from '../../display/panel.tsx'
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
      <table>
        <thead>
          <tr>
            <th scope="col">Band</th>
            <th scope="col">Channel</th>
            <th scope="col">Width</th>
            <th scope="col">Power</th>
            <th scope="col" className="wide">
              Noise
            </th>
            <th scope="col">Clients</th>
          </tr>
        </thead>
        <tbody>
          {radios.map(({ band, channel, widthMhz, powerDbm, noiseDbm, clients }) => (
            <tr key={band}>
              <th scope="row">{band}</th>
              <td>{channel ?? '–'}</td>
              <td>{withUnit(widthMhz, 'MHz')}</td>
              <td>{withUnit(powerDbm, 'dBm')}</td>
              <td className="wide">{withUnit(noiseDbm, 'dBm')}</td>
              <td>{clients ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function Members({ members }: { readonly members: readonly Member[] }) {
  return (
    <Panel title="Members" aside={members.length}>
      <table>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Model</th>
            <th scope="col">Serial</th>
            <th scope="col">Version</th>
          </tr>
        </thead>
        <tbody>
          {members.map(({ index, model, serial, version }) => (
            <tr key={index}>
              <th scope="row">{index}</th>
              <td>{model ?? '–'}</td>
              <td className="mono">{serial ?? '–'}</td>
              <td>{version ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function Ports({ ports }: { readonly ports: readonly Port[] }) {
  return (
    <Panel title="Ports" aside={`${ports.filter(({ isUp }) => isUp).length} of ${ports.length} up`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Port</th>
            <th scope="col">Link</th>
            <th scope="col">Speed</th>
            <th scope="col">Errors in</th>
          </tr>
        </thead>
        <tbody>
          {ports.map(({ name, isUp, speedMbps, errorsIn }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <StateMark tone={isUp ? 'good' : 'idle'}>{isUp ? 'Up' : 'Down'}</StateMark>
              </td>
              <td>{withUnit(speedMbps, 'Mbit/s')}</td>
              <td>{errorsIn ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  )
}

function withUnit(value: number | null, name: string): string {
  return value === null ? '–' : `${value} ${name}`
}
