// The country, its trucks and their trails. Python decides what is where; this draws it and lets dots glide.
export default {
  props: { land: Object },
  data: () => ({ frame: null, trucks: [], hovered: null, pointer: [0, 0], drawn: 0 }),
  template: `
    <div class="map" :data-drawn="drawn" @pointermove="follow" @pointerleave="hovered = null">
      <svg :viewBox="box" preserveAspectRatio="xMidYMid meet" :style="{ '--k': scale }">
        <path class="land" :d="land.outline"></path>
        <path v-for="road in land.roads" :class="road.motorway ? 'motorway' : 'road'" :d="road.path"></path>
        <polyline v-for="truck in trucks" :key="'trail ' + truck.name" class="trail" :class="truck.state"
          :points="truck.trail"></polyline>
        <g v-for="town in land.towns" class="town" :transform="'translate(' + town.x + ',' + town.y + ')'">
          <circle></circle><text>{{ town.name }}</text>
        </g>
        <g v-for="truck in trucks" :key="truck.name" class="truck" :class="truck.state" :data-truck="truck.name"
          :style="{ transform: 'translate(' + truck.x + 'px,' + truck.y + 'px)' }" @pointerenter="hovered = truck.name">
          <circle class="reach"></circle><circle class="dot"></circle>
        </g>
      </svg>
      <div v-if="card" class="card" :style="{ left: pointer[0] + 'px', top: pointer[1] + 'px' }">
        <b>{{ card.name }}</b><span>{{ card.driver }}</span><span>{{ card.told }}</span><span>{{ card.time }}</span>
      </div>
    </div>`,
  mounted() {
    this.$emit("ready");
  },
  emits: ["ready"],
  computed: {
    box() {
      return (this.frame ?? this.land.frame).join(" ");
    },
    scale() {
      return (this.frame ?? this.land.frame)[3] / this.land.frame[3];
    },
    card() {
      return this.trucks.find((truck) => truck.name === this.hovered);
    },
  },
  methods: {
    show(frame, trucks) {
      this.frame = frame;
      this.trucks = trucks;
      this.$nextTick(() => (this.drawn += 1));
    },
    follow(event) {
      const around = this.$el.getBoundingClientRect();
      this.pointer = [event.clientX - around.left, event.clientY - around.top];
    },
  },
};
