import { Panel } from '../../display/layout/panel.tsx'
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
            <th scope="col" className="number">
              Channel
            </th>
            <th scope="col" className="number">
              Width
            </th>
            <th scope="col" className="number">
              Power
            </th>
            <th scope="col" className="wide number">
              Noise
            </th>
            <th scope="col" className="number">
              Clients
            </th>
          </tr>
        </thead>
        <tbody>
          {radios.map(({ band, channel, widthMhz, powerDbm, noiseDbm, clients }) => (
            <tr key={band}>
              <th scope="row">{band}</th>
              <td className="number">{channel ?? '–'}</td>
              <td className="number">{withUnit(widthMhz, 'MHz')}</td>
              <td className="number">{withUnit(powerDbm, 'dBm')}</td>
              <td className="wide number">{withUnit(noiseDbm, 'dBm')}</td>
              <td className="number">{clients ?? '–'}</td>
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
            <th scope="col" className="number">
              Speed
            </th>
            <th scope="col" className="number">
              Errors in
            </th>
          </tr>
        </thead>
        <tbody>
          {ports.map(({ name, isUp, speedMbps, errorsIn }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <StateMark tone={isUp ? 'good' : 'idle'}>{isUp ? 'Up' : 'Down'}</StateMark>
              </td>
              <td className="number">{withUnit(speedMbps, 'Mbit/s')}</td>
              <td className="number">{errorsIn ?? '–'}</td>
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
