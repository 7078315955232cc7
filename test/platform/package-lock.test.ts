import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

interface Locked {
  readonly version?: string
  readonly resolved?: string
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const file = fileURLToPath(new URL('../../package-lock.json', import.meta.url))

function readPackages(): Readonly<Record<string, Locked>> {
  const lock: { packages: Readonly<Record<string, Locked>> } = JSON.parse(readFileSync(file, 'utf8'))
  return lock.packages
}

test('the lock file lists the optional packages of every platform, which npm ci requires', () => {
  const packages = readPackages()
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !(`${path}/node_modules/${name}` in packages) && !(`node_modules/${name}` in packages),
    ),
  )
  expect(Object.keys(packages).length).toBeGreaterThan(100)
  expect(missing).toEqual([])
})

test('the lock file names no registry, so that it installs from any', () => {
  const addressed = Object.entries(readPackages()).filter(([, { resolved }]) => resolved !== undefined)
  expect(addressed).toEqual([])
})
