import { encodeXml } from '../../gateway/netconf/xml.ts'
import type { Chassis, JunosDevice } from './junos-device.ts'

/** Answers about hardware, by the name of the request. A Virtual Chassis is one chassis with an FPC for each member. */
export const hardwareAnswers: Readonly<Record<string, (device: JunosDevice) => string>> = {
  'get-chassis-inventory': inventory,
  'get-environment-information': environment,
  'get-firmware-information': firmware,
  'get-route-engine-information': routeEngines,
  'get-poe-controller-information': poeControllers,
}

/** The ports by which a member is connected to its neighbors: all members form a ring. */
export function neighborsOf(device: JunosDevice, index: number): string {
  const size = device.chassis.length
  const neighbors = [...new Set([(index + 1) % size, (index + size - 1) % size])].filter((other) => other !== index)
  const items = neighbors.map((other) => {
    const port = other === (index + 1) % size ? 1 : 0
    return encodeXml('neighbor', { 'neighbor-id': other, 'neighbor-interface': `vcp-255/1/${port}` })
  })
  return `<neighbor-list>${items.join('')}</neighbor-list>`
}

function eachPresent(device: JunosDevice, encode: (chassis: Chassis, index: number) => string): string {
  return device.chassis.map((chassis, index) => (chassis.isPresent ? encode(chassis, index) : '')).join('')
}

function inventory(device: JunosDevice): string {
  const sku = device.model.toUpperCase()
  const ports = encodeXml('chassis-sub-module', {
    name: 'PIC 0',
    'part-number': 'BUILTIN',
    'serial-number': 'BUILTIN',
    description: '48x10/100/1000 Base-T',
    'model-number': sku,
  })
  const fans = encodeXml('chassis-sub-module', { name: 'Fan Tray 0', description: 'Fan Module, Airflow Out (AFO)' })
  const modules = eachPresent(device, ({ serial }, index) => {
    const board = { name: `FPC ${index}`, version: 'REV 12', 'part-number': '650-120000', 'serial-number': serial }
    const own = encodeXml('chassis-module', { ...board, description: sku, 'model-number': sku })
    return own.replace('</chassis-module>', `${ports}${fans}</chassis-module>`)
  })
  const [first] = device.chassis
  const name = device.form === 'virtual_chassis' ? 'Virtual Chassis' : sku
  const chassis = `${encodeXml('name', 'Chassis')}${encodeXml('serial-number', first?.serial ?? '')}${encodeXml('description', name)}`
  return `<chassis-inventory><chassis junos:style="inventory">${chassis}${modules}</chassis></chassis-inventory>`
}

function environment(device: JunosDevice): string {
  const items = eachPresent(device, (_, index) => {
    const supply = encodeXml('environment-item', { name: `FPC ${index} Power Supply 0`, class: 'Power', status: 'OK' })
    const fan = encodeXml('environment-item', { name: `FPC ${index} Fan 1`, class: 'Fans', status: 'OK' })
    const cpu = `${encodeXml('name', `FPC ${index} CPU`)}<class>Temp</class><status>OK</status>`
    const temperature = '<temperature junos:celsius="45">45 degrees C / 113 degrees F</temperature>'
    return `<environment-item>${cpu}${temperature}</environment-item>${supply}${fan}`
  })
  return `<environment-information>${items}</environment-information>`
}

function firmware(device: JunosDevice): string {
  const modules = eachPresent(device, (_, index) => {
    const versions = [
      ['U-Boot', '2023.01'],
      ['BIOS', '1.06'],
      ['CPLD', '0.11'],
      ['FPGA', '1.9'],
      ['PoE', '2.1.1.19.3'],
    ] as const
    const items = versions.map(([type, version]) => encodeXml('firmware', { type, 'firmware-version': version }))
    return `<chassis-module>${encodeXml('name', `FPC ${index}`)}${items.join('')}</chassis-module>`
  })
  return `<firmware-information><chassis>${modules}</chassis></firmware-information>`
}

function routeEngines(device: JunosDevice): string {
  const engine = (slot: number): string =>
    encodeXml('route-engine', {
      slot,
      'cpu-user': 5,
      'cpu-system': 4,
      'cpu-interrupt': 1,
      'cpu-idle': 90,
      'load-average-one': '0.28',
      'load-average-five': '0.30',
      'load-average-fifteen': '0.31',
    })
  if (device.form === 'single') return `<route-engine-information>${engine(0)}</route-engine-information>`
  const prefix = device.form === 'cluster' ? 'node' : 'fpc'
  const items = eachPresent(device, (_, index) => {
    const body = `<route-engine-information>${engine(0)}</route-engine-information>`
    return `<multi-routing-engine-item>${encodeXml('re-name', `${prefix}${index}`)}${body}</multi-routing-engine-item>`
  })
  return `<multi-routing-engine-results>${items}</multi-routing-engine-results>`
}

function poeControllers(device: JunosDevice): string {
  const controllers = eachPresent(device, (_, index) =>
    encodeXml('controller-information', {
      'controller-index': index,
      'controller-maxpower': '740.00W',
      'controller-power-consumption': '12.20W',
    }),
  )
  return `<poe><controller-information-detail>${controllers}</controller-information-detail></poe>`
}
