// The built-in tools: what the model reads about them, and what they do.

import { evaluate } from "./calculator.js";

// By name: `description` and `parameters` for the model, `run(arguments)` returns a value.
export const TOOLS = {
  calculator: {
    description: "Computes an arithmetic expression. Use it for every calculation.",
    parameters: {
      type: "object",
      properties: {
        expression: {
          type: "string",
          description: "For example 2 * (3 + sqrt(16)). There are + - * / % ^ and brackets.",
        },
      },
      required: ["expression"],
      additionalProperties: false,
    },
    run: ({ expression }) => ({ result: evaluate(expression) }),
  },
  clock: {
    description: "Tells the current date and time.",
    parameters: {
      type: "object",
      properties: {
        time_zone: {
          type: "string",
          description: "An IANA name such as Europe/Berlin. Absent: the user's own time zone.",
        },
      },
      additionalProperties: false,
    },
    run: ({ time_zone: zone }) => timeIn(zone, new Date()),
  },
};

// The `tools` of a request for the names that are switched on.
export function toolsOfRequest(names) {
  return names.filter((name) => Object.hasOwn(TOOLS, name)).map((name) => {
    const { description, parameters } = TOOLS[name];
    return { type: "function", function: { name, description, parameters } };
  });
}

// Runs a call that the user allowed. Returns the text for the model; a mistake is a text too.
export function runTool(name, argumentsText) {
  try {
    if (!Object.hasOwn(TOOLS, name)) throw new Error(`there is no tool '${name}'`);
    return JSON.stringify(TOOLS[name].run(JSON.parse(argumentsText || "{}")));
  } catch (error) {
    return JSON.stringify({ error: error.message });
  }
}

// The text for the model when the user does not allow a call.
export const REFUSAL = JSON.stringify({ error: "the user did not allow this call" });

export function timeIn(zone, now) {
  const timeZone = zone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const format = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    dateStyle: "full",
    timeStyle: "long",
  });
  return { time: format.format(now), utc: now.toISOString(), time_zone: timeZone };
}
