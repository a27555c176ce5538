/** Prints the findings of Redocly's recommended rules for a description, as JSON. */
import { readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'

const [file = ''] = process.argv.slice(2)
const config = await createConfig({ extends: ['recommended'] })
const problems = await lintFromString({ source: readFileSync(file, 'utf8'), absoluteRef: file, config })
const lines = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)
process.stdout.write(JSON.stringify(lines))
